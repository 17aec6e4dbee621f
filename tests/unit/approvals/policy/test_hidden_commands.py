"""Commands hidden in options, in what bash evaluates later and in what feeds a shell: all of them ask."""

from __future__ import annotations

import subprocess

import pytest

from orchestrator.approvals.policy.judge import judge_command
from orchestrator.core.models import ApprovalPolicy, Ruling

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


FED_TO_A_SHELL = [
    "ls | xargs -I % sh -c %", "ls | xargs -I{} bash -c 'echo {}'", "ls | xargs -I@ sh -c 'convert @ x'",
    "ls | xargs --replace sh -c 'a {}'", "find . -exec sh -c 'convert {} x' \\;",
    "mkfifo p; bash < p & echo 'rm x' > p",
    "mknod p p; . p", "coproc bash; echo 'rm x' >&\"${COPROC[1]}\"", "make -f - <<< 'all: ; rm x'",
    "m4 <<< 'syscmd(rm x)'",
]  # fmt: skip

WORKED_OUT_TWICE = [
    "unset 'a[$(rm x)]'", "printf -v 'a[$(rm x)]' x", "[[ -v 'a[$(rm x)]' ]]", "test -v 'a[`rm x`]'",
    "read 'a[$(rm x)]' <<< 1", "declare 'a[$(rm x)]=1'", "let 'a[$(rm x)]=1'", "declare 'PS4=$(rm x)'",
    "printf -v PROMPT_COMMAND 'rm x'", "read BASH_ENV < f", "local 'PS4=x'", "export 'BASH_FUNC_ls%%=() { rm x; }'",
]  # fmt: skip

IN_A_LANGUAGE_OF_ITS_OWN = [
    "sed '1e rm x' f", "sed 's/x/rm y/e' f", "sed -n -e 's|.*|rm x|ge' f", "sed '$e' f", "split --filter='rm x' f",
    "git difftool -x 'rm x'", "git difftool --extcmd='rm x'", "git grep -O'rm x' y", "vim -c '!rm x' f",
    "vim +':call system(\"rm x\")' f", "ssh -o ProxyCommand='rm x' h", "scp -oProxyCommand='rm x' a h:b",
    "socat - EXEC:'rm x'", "socat - SYSTEM:'rm x',pty", "gdb -batch -ex 'shell rm x'", "strace -o '|rm x' ls",
    "expect -c 'spawn rm x'", "find . -fprint /etc/x", "find . -fprintf /root/x %p",
]  # fmt: skip

MADE_WHILE_IT_RUNS = [
    "python3 -c \"exec(bytes.fromhex('696d'))\"", "python3 -c \"import os; getattr(os, 'sy'+'stem')('rm x')\"",
    "python3 -c \"eval(compile(open('x').read(),'x','exec'))\"", "python3 -c \"__import__('o'+'s')\"",
    "python3 -c \"import shutil; getattr(shutil, 'rmtree')('x')\"", "python3 -c \"__import__('os').system('rm x')\"",
    "node -e \"eval(atob('xx'))\"", "node -e \"require('child_'+'process').execSync('r'+'m x')\"",
    "node -e \"new Function(x)()\"", "perl -e 'eval pack(\"H*\",\"726d\")'", "ruby -e 'eval [\"x\"].pack(\"m\")'",
    "php -r 'eval(base64_decode(\"x\"));'", "lua -e 'load(x)()'", "Rscript -e 'eval(parse(text=x))'",
]  # fmt: skip

LOST = ["git checkout a.py", "git checkout ./a", "git checkout main.c lib.h"]

NAMED_BY_A_VARIABLE = [
    "X=rm; $X y", "X='rm -rf'; $X y", "IFS=_; c=rm_x; $c", "read X < f; $X y", "for X in rm; do $X y; done", "$X y",
    "X=$(cat f); $X y", "PYTHON=rm; $PYTHON a.py", "$PYTHON -c 'import os; os.remove(1)'", "$SHELL -c 'rm x'",
    "X=ls; X=rm; $X y", "export PYTHON=rm; bash -c '$PYTHON x'", "${X:-rm} y", ". ./env; $PYTHON x", "${X:-$Y} z",
]  # fmt: skip

NOT_SCRATCH = [
    "rm /tmp/x", "rm -rf /tmp", "rm $T", "T=$(cat f); rm $T", "T=$(mktemp); T=work; rm -rf $T",
    "rm -rf /tmp/$X", "T=$(mktemp); rm $T x", "trap 'rm -rf \"$T\"' EXIT",
]  # fmt: skip

NEEDLESS = [
    "$PYTHON a.py", "\"$PYTHON\" -m pytest", "${CC:-gcc} -o x x.c", "PY=python3; $PY a.py", "cmd='ls -l'; $cmd",
    "kill $(cat server.pid)", "kill -9 \"$(cat run/server.pid)\"", "kill `cat x.pid`", "pkill -0 server",
    ": > new.log", "> server.log", "chmod -R u+w d", "chmod -R a+rX www",
    "t=$(mktemp); ls > $t; rm \"$t\"", "tmp=$(mktemp -d); trap 'rm -rf \"$tmp\"' EXIT; ls",
    "echo 'PROMPT_COMMAND=x' >> notes.txt", "cat > x.sh <<'EOF'\nPS4=$x\nEOF", "grep -n 'PS4=' x.sh",
    "ls | xargs -I{} cp {} b/", "ls | xargs -I{} sh -c 'echo \"$1\"' _ {}", "find . -exec sh -c 'wc \"$1\"' _ {} \\;",
    "sed -e 's/e/E/' f", "sed 's/some/other/g' f", "sed -n '1,5p' f", "git checkout feature/new-door",
    "git checkout v1.2",
    "make -f other.mk all", "vim -c ':q' f", "find . -name '*.py' -fprint list.txt",
    "python3 -c 'print(eval(\"1+1\"))'",
    "node -e 'require(\"fs\").readFileSync(\"x\")'", "unset 'a[1]'", "read -r line < f", "export PATH=/x:$PATH",
]  # fmt: skip

FAMILIES = {
    "hidden in options": ASKS,
    "fed to a shell": FED_TO_A_SHELL,
    "worked out twice": WORKED_OUT_TWICE,
    "in a language of its own": IN_A_LANGUAGE_OF_ITS_OWN,
    "made while it runs": MADE_WHILE_IT_RUNS,
    "lost": LOST,
    "named by a variable": NAMED_BY_A_VARIABLE,
    "not scratch": NOT_SCRATCH,
}


@pytest.mark.parametrize(
    "command", [pytest.param(command, id=f"{name}: {command}") for name, table in FAMILIES.items() for command in table]
)
def test_hidden_commands_ask(command: str) -> None:
    """What would run is found, or can't be read and is asked about."""
    assert judge_command(command, ApprovalPolicy.DANGEROUS).ruling is Ruling.ASK


@pytest.mark.parametrize("command", [*RUNS, *NEEDLESS])
def test_harmless_ones_run(command: str) -> None:
    """The same forms with everyday values, and what loses nothing, are no reason to ask."""
    assert judge_command(command, ApprovalPolicy.DANGEROUS).ruling is Ruling.RUN


@pytest.mark.parametrize("command", [c for table in (*FAMILIES.values(), RUNS, NEEDLESS) for c in table])
def test_the_tables_hold_bash(command: str) -> None:
    """So that they say something about real commands."""
    checked = subprocess.run(["/bin/bash", "-n", "-c", command], capture_output=True, timeout=10, check=False)
    assert checked.returncode == 0, checked.stderr
