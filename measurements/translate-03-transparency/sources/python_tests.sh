# CPython's own tests, by name. Their log says how long each took, so it is no output; which ran and how they ended is.
export HOME=$PWD TMPDIR=$PWD
$PYTHON -m test -v "$@" > log 2>&1 || echo "status $?"
grep -E ' \.\.\. (ok|FAIL|ERROR|skipped)|^(FAIL|ERROR): ' log | sed 's/ (0x[0-9a-f]*)//' | sort
rm -rf ./* .[a-z]*
