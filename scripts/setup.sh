#!/bin/sh
# Makes .venv and leaves it up to date; does nothing, at once, when it is. Run by every target of the Makefile.
# PYTHON=... names the Python to use; else python3, python3.13, python3.12 and python3.11 are tried in this order.
set -eu

cd "$(dirname "$0")/.."
venv=.venv
stamp=$venv/.installed
log=$venv/install.log

say() { printf '%s\n' "$*" >&2; }

# Python's version and where it is installed, or nothing if it does not run; the second word also tells a moved .venv.
describe() { "$1" -c 'import sys; print(sys.version.split()[0], sys.base_prefix)' 2>/dev/null || true; }

is_right_version() {
    case $(describe "$1") in 3.11.* | 3.12.* | 3.13.*) ;; *) return 1 ;; esac
}

has_module() { "$1" -c "import $2" >/dev/null 2>&1; }

# Sets python, and maker to the module that can make an environment with it; stops with one message if there is none.
choose_python() {
    right=''
    for module in 'venv, ensurepip' virtualenv; do
        for python in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
            is_right_version "$python" || continue
            right=${right:-$python}
            if has_module "$python" "$module"; then
                maker=${module%%,*}
                return
            fi
        done
    done
    if [ -n "$right" ]; then
        version=$("$right" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        say "$right (Python $version) cannot make a virtual environment: its module venv or ensurepip is missing."
        say "Install it (Debian and Ubuntu: apt install python$version-venv), or: $right -m pip install virtualenv"
    elif [ -n "${PYTHON:-}" ]; then
        version=$(describe "$PYTHON" | cut -d ' ' -f 1)
        say "Pointsman needs Python 3.11, 3.12 or 3.13; PYTHON=$PYTHON is ${version:-none that runs}."
    else
        say "Pointsman needs Python 3.11, 3.12 or 3.13, and none is on PATH."
        say "Install one (Debian and Ubuntu: apt install python3 python3-venv), or name it: make setup PYTHON=/path/to/python3"
    fi
    exit 1
}

# What the installation depends on. The place is part of it, since an environment that was moved or copied is broken.
fingerprint() {
    pwd -P
    describe "$venv/bin/python"
    cksum pyproject.toml scripts/setup.sh
}

is_usable() {
    is_right_version "$venv/bin/python" && has_module "$venv/bin/python" pip || return 1
    [ -z "${PYTHON:-}" ] || [ "$(describe "$venv/bin/python")" = "$(describe "$PYTHON")" ] || return 1
    [ ! -f "$stamp" ] || [ "$(head -n 1 "$stamp")" = "$(pwd -P)" ]
}

if is_usable; then
    if [ -f "$stamp" ] && [ "$(fingerprint)" = "$(cat "$stamp")" ]; then
        exit 0
    fi
else
    choose_python
    say "Making $venv with $python (Python $(describe "$python" | cut -d ' ' -f 1)) ..."
    rm -rf "$venv"
    if ! output=$("$python" -m "$maker" "$venv" 2>&1); then
        say "$output"
        say "$python -m $maker failed; what it said is above."
        rm -rf "$venv"
        exit 1
    fi
fi

rm -f "$stamp"
say "Installing Pointsman with its tools into $venv; Spark is large: 1 to 5 minutes the first time ..."
started=$(date +%s)
if ! "$venv/bin/python" -m pip install --no-input --disable-pip-version-check -e '.[dev]' >"$log" 2>&1 </dev/null; then
    tail -n 25 "$log" >&2
    say "The installation failed; the end of $log is above. Correct the cause and run make again."
    exit 1
fi
say "Installed in $(($(date +%s) - started)) seconds."
fingerprint >"$stamp.new"
mv "$stamp.new" "$stamp"
