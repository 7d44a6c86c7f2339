# SPDX-License-Identifier: Apache-2.0
# Sourced by scripts/build, bundle and wheel: a tree of bin, lib, lib/optune and include that runs
# wherever it is put, with the shared libraries it needs inside, but for the C library.

# What is installed finds its libraries beside itself. Old-fashioned run paths serve the libraries of
# libraries, too.
relocatable_options=(-DCMAKE_INSTALL_LIBDIR=lib
    '-DCMAKE_INSTALL_RPATH=$ORIGIN/../lib:$ORIGIN/..:$ORIGIN'
    -DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags
    -DCMAKE_SHARED_LINKER_FLAGS=-Wl,--disable-new-dtags)

# Names of what the C library brings.
relocatable_c_library='libc|libm|libdl|librt|libpthread|libresolv|ld-linux[^/]*'

# relocatable_install BUILD-DIR OUT [PROGRAM...]: the tree, with what these programs of OUT's need, too.
# Libraries whose names match $relocatable_outside are left to the system.
relocatable_install() {
    local build=$1 out=$2 staging
    shift 2
    staging=$(mktemp -d)
    # A component, so that the list of what a user installed stays (scripts/uninstall.cmake).
    DESTDIR=$staging cmake --install "$build" --component Unspecified --prefix /b >/dev/null 2>&1 || {
        echo "cmake --install fails; see: cmake --install $build --prefix /tmp/b" >&2
        exit 1
    }
    mkdir -p "$out/bin" "$out/lib/optune"
    install -m 755 -s "$staging/b/bin/optune" "$out/bin/optune"
    install -m 755 -s "$staging/b/lib/optune/optune-worker" "$out/lib/optune/optune-worker"
    cp -P "$staging"/b/lib/liboptune.so* "$staging"/b/lib/liboptune-kernels.a "$out/lib/"
    cp -R "$staging/b/include" "$out/"
    if [[ -e $staging/b/lib/optune/_call.abi3.so ]]; then
        install -m 644 -s "$staging/b/lib/optune/_call.abi3.so" "$out/lib/optune/_call.abi3.so"
    fi
    rm -rf "$staging"
    # What draws the pages of reports, which says itself whose it is.
    if [[ -r /usr/share/javascript/chart.js/chart.min.js ]]; then
        install -m 644 "$(realpath /usr/share/javascript/chart.js/chart.min.js)" \
            "$out/lib/optune/chart.min.js"
    fi
    # What they need and the C library does not bring.
    ldd "$out/bin/optune" "$out/lib/optune/optune-worker" "$@" |
        awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
        grep -vE "/($relocatable_c_library)\.so" |
        while read -r library; do
            [[ $library =~ liboptune${relocatable_outside:+|$relocatable_outside} ]] || cp -L "$library" "$out/lib/"
        done
    strip --strip-unneeded "$out"/lib/*.so* 2>/dev/null || true
}

# relocatable_check OUT: it must run from elsewhere, and from itself alone: all that its programs
# need is found beside them, but for the C library.
relocatable_check() {
    local moved program lacks
    moved=$(realpath "$(mktemp -d)")
    cp -a "$1" "$moved/b"
    env -i PATH=/usr/bin:/bin HOME="$moved" "$moved/b/bin/optune" targets >/dev/null
    for program in "$moved"/b/bin/optune "$moved"/b/lib/optune/optune-worker "$moved"/b/tests/*; do
        [[ -f $program ]] || continue
        lacks=$(env -i PATH=/usr/bin:/bin ldd "$program" | own=$moved/b/ \
            outside="^($relocatable_c_library)[.]so${relocatable_outside:+|$relocatable_outside}" \
            awk '$2 == "=>" && index($3, ENVIRON["own"]) != 1 && $1 !~ ENVIRON["outside"] {
                print $1 }')
        if [[ -n $lacks ]]; then
            echo "${program##*/} does not find beside itself:" $lacks >&2
            exit 1
        fi
    done
    rm -rf "$moved"
}

# relocatable_licences OUT INTO: a file LIBRARY.copyright for each library of others that lies in
# OUT, and for what draws pages, as the package that it is of has it. What has none is said.
relocatable_licences() {
    local file name package
    mkdir -p "$2"
    for file in "$1"/lib/*.so* "$1/lib/optune/chart.min.js"; do
        name=${file##*/}
        [[ -f $file && $name != liboptune* ]] || continue
        package=libjs-chart.js
        if [[ $name == *.so* ]]; then
            package=$(dpkg-query -S "*/$name" 2>/dev/null | sed -n '1s/[:,].*//p' || true)
        fi
        if [[ -n $package && -r /usr/share/doc/$package/copyright ]]; then
            install -m 644 "/usr/share/doc/$package/copyright" "$2/$name.copyright"
        else
            echo "no licence is known of $name, which is inside: add it" >&2
        fi
    done
}

# relocatable_glibc OUT: the newest version of the C library that anything in it asks for: 2.34
relocatable_glibc() {
    { find "$1" -type f ! -name '*.a' -exec objdump -T {} + 2>/dev/null || true; } |
        grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -1 | sed 's/GLIBC_//'
}
