#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh FILE...: pytest by the first Python that has it and numpy; 77, which ctest takes for a skip,
# where none has. OPTUNE_PYTHON names another one.
for python in ${OPTUNE_PYTHON:-python3 /usr/bin/python3}; do
    if "$python" -c 'import pytest, numpy' 2>/dev/null; then
        export PYTHONDONTWRITEBYTECODE=1
        exec "$python" -m pytest -q -p no:cacheprovider --rootdir "$(dirname "$0")" "$@"
    fi
done
echo "skipped: no Python with pytest and numpy; apt-get install python3-pytest python3-numpy" >&2
exit 77
