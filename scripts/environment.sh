# Sourced by the other scripts, from the root of the checkout: makes .venv and installs what they ask for.

usable() {
    "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    # A name on PATH may be a launcher for a version that is not there, so each one is tried.
    for candidate in python3.13 python3.12 python3.11 python3; do
        if usable "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    echo "Shoal needs Python 3.11 or later with its venv module: install one (for example the packages" \
        "python3.11 and python3.11-venv) and run this again." >&2
    return 1
}

# A PostgreSQL for the tests to start, where this machine has none and lets us install one; without it they say so.
install_postgres() {
    if ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null 2>&1; then
        return
    fi
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "Installing PostgreSQL for the tests ..." >&2
        # No cluster is made: the tests make their own.
        mkdir -p /etc/postgresql-common
        [ -e /etc/postgresql-common/createcluster.conf ] ||
            echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
        { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y postgresql; } \
            >/dev/null 2>&1 || echo "PostgreSQL could not be installed: tests that need it will not run." >&2
    fi
}

has_compiler() {
    [ -n "${CXX-}" ] || command -v c++ >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null
}

reaches_index() {
    .venv/bin/python -m pip index versions --retries 0 --timeout 5 numpy >/dev/null 2>&1
}

# pip_install ARGUMENTS: install with pip into .venv, in the versions of constraints.txt, and show output of failures only.
pip_install() {
    log=.venv/install.log
    if ! .venv/bin/python -m pip install -q -q --disable-pip-version-check --root-user-action=ignore \
        -c constraints.txt "$@" >"$log" 2>&1; then
        if reaches_index; then
            cat "$log" >&2
        elif has_compiler; then
            echo "pip reaches no package index: give it access to one, or set PIP_FIND_LINKS to a folder with the packages" \
                "of constraints.txt." >&2
        else
            echo "There is no C++ compiler here and pip reaches no package index: give pip access to one, where it finds a" \
                "compiler, too (ziglang), or install a compiler (for example the package g++) and set PIP_FIND_LINKS to a" \
                "folder with the packages of constraints.txt." >&2
        fi
        return 1
    fi
}

# Print a checksum of what an installation depends on: while it stays the same, there is nothing to do.
installation() {
    # The path is part of it because an editable install remembers where the checkout was.
    {
        pwd
        .venv/bin/python -V
        cat pyproject.toml papers/pyproject.toml constraints.txt CMakeLists.txt native/backend.py native/*/*.[ch]pp
    } 2>&1 | cksum
}

is_installed() {
    [ "$(cat ".venv/.shoal-installed${1:+-$1}" 2>/dev/null)" = "$(installation)" ] &&
        ls src/shoal/kernels/_native.*.so >/dev/null 2>&1
}

# prepare EXTRAS: make .venv, with the packages that Shoal needs ("") or that building and testing it need ("dev").
prepare() {
    if is_installed "$1"; then
        return
    fi
    # What an interrupted installation leaves is nobody's; and commands in .venv name the folder they were made in.
    rm -f .venv/.shoal-installed*
    if ! usable .venv/bin/python || ! .venv/bin/python -m pip --version >/dev/null 2>&1 ||
        ! grep -qsF "$PWD/.venv" .venv/pyvenv.cfg; then
        python=$(find_python)
        echo "Making a virtual environment in .venv ..." >&2
        "$python" -m venv --clear .venv
    fi
    echo "Installing packages into .venv ..." >&2
    .venv/bin/python -c '
import sys, tomllib
with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]
extras = project["optional-dependencies"]


def expand(requirements):
    # An extra may name others, as in shoal[vault,web].
    for requirement in requirements:
        if requirement.startswith("shoal["):
            for extra in requirement[len("shoal[") : -1].split(","):
                yield from expand(extras[extra])
        else:
            yield requirement


print(*expand(project["dependencies"] + extras.get(sys.argv[1], [])), sep="\n")
' "$1" >.venv/packages.txt
    # Kernels of a development environment are compiled by what is in it, so that a later build compiles only what changed.
    [ "$1" != dev ] || has_compiler || echo ziglang >>.venv/packages.txt
    pip_install -r .venv/packages.txt
}

# build EXTRAS: compile the kernels and install the checkout into .venv; with "dev" all extras and the papers, too.
build() {
    if is_installed "$1"; then
        return
    fi
    echo "Compiling Shoal's kernels ..." >&2
    if [ "$1" = dev ]; then
        # Without dependencies, which prepare has installed: some of them need an isolated build of their own.
        pip_install --no-build-isolation --no-deps -e .
        pip_install -e papers
    else
        pip_install -e .
    fi
    installation >".venv/.shoal-installed${1:+-$1}"
}

# install EXTRAS: install the checkout with the given extras ("" or "dev") into .venv, unless that was done.
install() {
    prepare "$1"
    build "$1"
}

# Spark runs on Java: install it where that is allowed. Elsewhere tests of Spark are skipped, and say so.
install_java() {
    if command -v java >/dev/null 2>&1 || [ -n "${JAVA_HOME-}" ] || [ "$(id -u)" != 0 ]; then
        return
    fi
    if command -v apt-get >/dev/null 2>&1; then
        echo "Installing Java 17 ..." >&2
        { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
            openjdk-17-jre-headless; } >/dev/null 2>&1 || echo "Java 17 could not be installed." >&2
    fi
}

# A browser for the tests of the pages: Debian's Chromium, where it may be installed. Elsewhere these tests are skipped, and say so.
install_browser() {
    if command -v chromium >/dev/null 2>&1 || [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
        return
    fi
    echo "Installing Chromium for the tests ..." >&2
    { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
        chromium fonts-dejavu-core; } >/dev/null 2>&1 ||
        echo "Chromium could not be installed: tests that need a browser will not run." >&2
}
