"""Commands hidden in options, in what bash evaluates later and in what feeds a shell: all of them ask."""

from __future__ import annotations

import pytest

from orchestrator.nouns import ApprovalPolicy, Ruling
from orchestrator.policy.judge import judge

ASKS = [
    "tar cf a.tar x --checkpoint=1 --checkpoint-action=exec='rm x'", "tar xf a.tar --to-command='rm x'",
    "tar -I 'rm x' -cf a.tar y", "git -c core.fsmonitor='rm x' status", "git -c diff.external='rm x' diff",
    "git -c core.pager='rm x' log", "git -c core.sshCommand='rm x' fetch", "git -c core.hooksPath=h commit -m x",
    "git -c filter.a.clean='rm x' add .", "sort --compress-program='rm x' f", "rsync -e 'rm x' a b:c",
    "man -P 'rm x' ls", "zip -T a.zip x -TT 'rm x'", "compgen -C 'rm x'", "complete -C 'rm x' ls",
    "mapfile -C 'rm x' -c 1 a < f", "readarray -C 'rm x' -c 1 a < f", "hash -p ./x ls", "enable -f ./x.so x",
    "bind -x '\"a\": rm x'", "PS4='$(rm x)' bash -x y.sh", "export PROMPT_COMMAND='rm x'", "BASH_ENV=x bash y.sh",
    "x='$(rm x)'; echo ${x@P}", "env 'BASH_FUNC_ls%%=() { rm x; }' bash y.sh", "echo 'rm x' > >(bash)",
    "echo 'rm x' | tee >(sh)",
]  # fmt: skip

RUNS = [
    "tar -I pigz -cf a.tar y", "tar --use-compress-program=zstd -xf a.tar.zst", "git -c core.pager=cat log",
    "git -c user.name='A B' commit -m x", "git -c core.hooksPath=/dev/null commit -m x", "rsync -e 'ssh -p 22' a b:c",
    "sort --compress-program=gzip f", "ls | tee >(grep a)", "ls 2> >(cat)", "mapfile -t a < f", "tar -cf a.tar x",
    "hash -r", "echo ${x@Q}",
]  # fmt: skip


@pytest.mark.parametrize("command", ASKS)
def test_hidden_commands_ask(command: str) -> None:
    """A command that stands in an option, or that the shell is to meet later, is found or asked about."""
    assert judge(command, ApprovalPolicy.DANGEROUS).ruling is Ruling.ASK


@pytest.mark.parametrize("command", RUNS)
def test_harmless_options_run(command: str) -> None:
    """The same options with everyday values are no reason to ask."""
    assert judge(command, ApprovalPolicy.DANGEROUS).ruling is Ruling.RUN
