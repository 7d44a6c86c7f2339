/* SPDX-License-Identifier: Apache-2.0 */
/*
 * s_erf for CPU bodies, straight-line code as the rest of scalar_cpu.kernel.h, which includes
 * this.
 *
 * Up to 1 x + x P(x^2); above 1 - exp(-Q(|x|)), where Q approximates -log(1 - erf), which is
 * smooth, and the exponential is small beside 1. Both polynomials are interpolated at Chebyshev
 * nodes, in a variable that runs from -1 to 1; their coefficients come highest power first.
 * Errors are below 3 ulp in float, 5 in double.
 */
#ifndef OPTUNE_KERNELS_COMMON_ERF_CPU_H
#define OPTUNE_KERNELS_COMMON_ERF_CPU_H

#if SCALAR_BITS == 64
#define OT_ERF_MOST 6
#define OT_ERF_SMALL(X)                                                                        \
    X(0x1.05ffd737fb32ep-46)                                                                   \
    X(-0x1.acbabce2865e7p-42)                                                                  \
    X(0x1.428e938efe043p-37) X(-0x1.bf8d2c72b9b8cp-33) X(0x1.1ad5edf90dd80p-28)                \
        X(-0x1.429e93e668f24p-24) X(0x1.486638bc9befep-20) X(-0x1.263991b802ee6p-16)           \
            X(0x1.c82aa249df460p-13) X(-0x1.2b902b7b2f28ep-9) X(0x1.454368017b042p-6)          \
                X(-0x1.1fd16292151fdp-3) X(-0x1.1ae14dc34815ap-5)
#define OT_ERF_LARGE(X)                                                                        \
    X(0x1.ec026094ccc27p-28)                                                                   \
    X(-0x1.3591ed660fcc7p-26)                                                                  \
    X(-0x1.235ed681f4ebfp-28) X(0x1.433e20881c43cp-25) X(-0x1.583de840d8ef7p-26)               \
        X(0x1.484fea2ccda9ap-24) X(-0x1.a2f3f82ab81e9p-22) X(0x1.03ccd9e54b615p-20)            \
            X(-0x1.00ed0b0db1fecp-19) X(0x1.c6ba78ecec299p-19) X(-0x1.3284bf84cb083p-18)       \
                X(0x1.9070ea9692a5ap-20) X(0x1.35f53dde9d086p-16) X(-0x1.7d484dd96c61ap-14)    \
                    X(0x1.42c5aa4915786p-12) X(-0x1.d47dba364d56cp-11) X(0x1.372a216b238e1p-9) \
                        X(-0x1.862e965172907p-8) X(0x1.d75a565296d22p-7)                       \
                            X(-0x1.1794772df2109p-5) X(0x1.4e712f2ed3911p-4)                   \
                                X(0x1.82b383473a5e7p+2) X(0x1.22a4dc1adc4d6p+4)                \
                                    X(0x1.c3991652a25b0p+3)
#else
#define OT_ERF_MOST 4 /* from here on it rounds to 1 */
#define OT_ERF_SMALL(X)                                                                        \
    X(0x1.4a5690p-20f)                                                                         \
    X(-0x1.287012p-16f)                                                                        \
    X(0x1.c828b2p-13f) X(-0x1.2b8df4p-9f) X(0x1.454368p-6f) X(-0x1.1fd164p-3f)                 \
        X(-0x1.1ae14ep-5f)
#define OT_ERF_LARGE(X)                                                                        \
    X(-0x1.5ff8fap-15f)                                                                        \
    X(0x1.dd19dep-13f)                                                                         \
    X(-0x1.cd94e6p-11f) X(0x1.a228e2p-9f) X(-0x1.6732a8p-7f) X(0x1.2c378ap-5f)                 \
        X(0x1.0fd766p+1f) X(0x1.00edbep+3f) X(0x1.f3a2dcp+2f)
#endif
#define OT_ERF_TERM(c) y = y * u + (SCALAR)c;

INLINE SCALAR ot_erf_small(SCALAR x)
{
    const SCALAR u = 2 * x * x - 1;
    SCALAR y = 0;
    OT_ERF_SMALL(OT_ERF_TERM)
    return x + x * y;
}

/* Of 1 to OT_ERF_MOST. */
INLINE SCALAR ot_erf_large(SCALAR a)
{
    const SCALAR u = (a - (1 + OT_ERF_MOST) * (SCALAR)0.5) * (SCALAR)(2. / (OT_ERF_MOST - 1));
    SCALAR y = 0;
    OT_ERF_LARGE(OT_ERF_TERM)
    return 1 - ot_exp(-y);
}

INLINE SCALAR ot_erf(SCALAR x)
{
    SCALAR a = ot_abs(x);
    a = a > OT_ERF_MOST ? (SCALAR)OT_ERF_MOST : a;
    const SCALAR low = a > 1 ? (SCALAR)1 : a, high = a < 1 ? (SCALAR)1 : a;
    const SCALAR y = a < 1 ? ot_erf_small(low) : ot_erf_large(high);
    return ot_from_bits(ot_to_bits(y) | (ot_to_bits(x) & OT_SIGN));
}

#endif
