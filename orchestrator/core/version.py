"""The version of HermitShell, written here and nowhere else."""

VERSION = "0.1.0"
