#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh FILE...: pytest by the first Python that has it and numpy; 77, which ctest takes for a skip,
# where none has, or where the whole file needs what is not there. OPTUNE_PYTHON names another one.
for python in ${OPTUNE_PYTHON:-python3 /usr/bin/python3}; do
    if "$python" -c 'import pytest, numpy' 2>/dev/null; then
        export PYTHONDONTWRITEBYTECODE=1
        "$python" -m pytest -q -p no:cacheprovider --rootdir "$(dirname "$0")" "$@"
        status=$?
        [ $status -ne 5 ] || exit 77 # pytest's word for: no test was collected
        exit $status
    fi
done
echo "skipped: no Python with pytest and numpy; apt-get install python3-pytest python3-numpy" >&2
exit 77
