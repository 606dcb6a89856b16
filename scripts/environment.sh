# Sourced by the other scripts: enter the project's folder and make sure that .venv matches the lock.
# The environment is built once, and again only after requirements.lock or pyproject.toml changes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
python=$root/.venv/bin/python
export PIP_DISABLE_PIP_VERSION_CHECK=1

quietly() { # run a step; show what it printed only if it fails
  "$@" >.venv/setup.log 2>&1 || { cat .venv/setup.log >&2; exit 1; }
}

make_environment() {
  local base=${PYTHON:-python3}
  "$base" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    { echo "geomdp needs Python >= 3.11; name one with PYTHON=/path/to/python3" >&2; exit 1; }
  echo "Setting up .venv (once; about a minute) ..." >&2
  rm -rf .venv
  if ! "$base" -m venv .venv >/dev/null 2>&1; then # a Python without ensurepip: use its pip from outside
    rm -rf .venv
    "$base" -m venv --without-pip .venv
    "$base" -m pip --python "$python" install --quiet pip
  fi
  quietly "$python" -m pip install --require-hashes -r requirements.lock
  quietly "$python" -m pip install --no-deps --no-build-isolation --editable .
  printf '%s\n' "$stamp" >.venv/stamp
}

stamp=$(cat requirements.lock pyproject.toml | cksum)
if [ ! -x "$python" ] || [ "$(cat .venv/stamp 2>/dev/null)" != "$stamp" ]; then
  make_environment
fi
