/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The finite points that winograd convolutions interpolate at, beside infinity: exact numbers near
 * one another in magnitude, in the order of use. For bodies, which compute with them, and for
 * rows, which compute from them how many digits they cost (winograd_error.h).
 */
#ifndef OPTUNE_KERNELS_CONV2D_WINOGRAD_NUMBERS_H
#define OPTUNE_KERNELS_CONV2D_WINOGRAD_NUMBERS_H

/* F(2,3) interpolates at 0, 1, -1 and infinity; F(4,3) at 0, +-P, +-Q and infinity. These two
 * numbers are exact and keep the entries of all three matrices close to one another, which
 * makes a quarter of the error of 1 and 2. */
#define POINT_P 0.625
#define POINT_Q 1.5

/* Tiles of 7, stride 1: four pairs +-x; stride 2: three pairs, and 0. */
#define PAIR_1(i) ((i) == 0 ? 0.25 : (i) == 1 ? 0.75 : (i) == 2 ? 1.125 : 2)
#define PAIR_2(i) ((i) == 0 ? 0.625 : (i) == 1 ? 0.875 : 1.75)

/* Along rows, by how many points there are, infinity included: of opposite signs. */
#define ROW_POINT_4(i) ((i) == 0 ? 0 : (i) == 1 ? 1 : -1)
#define ROW_POINT_5(i) ((i) == 0 ? 0 : (i) == 1 ? 0.625 : (i) == 2 ? -0.625 : 2.5)
#define ROW_POINT_6(i)                                                                         \
    ((i) == 0 ? 0 : (i) == 1 ? 0.5 : (i) == 2 ? -0.5 : (i) == 3 ? 1.75 : -1.75)
#define ROW_POINT_7(i)                                                                         \
    ((i) == 0 ? 0 : (i) == 1 ? 1 : (i) == 2 ? -1 : (i) == 3 ? 1.5 : (i) == 4 ? -1.5 : 0.25)
#define ROW_POINT_9(i)                                                                         \
    ((i) == 0   ? 0                                                                            \
     : (i) == 1 ? 0.625                                                                        \
     : (i) == 2 ? -0.625                                                                       \
     : (i) == 3 ? 1.25                                                                         \
     : (i) == 4 ? -1.25                                                                        \
     : (i) == 5 ? 1.5                                                                          \
     : (i) == 6 ? -1.5                                                                         \
                : 0.25)

#endif
