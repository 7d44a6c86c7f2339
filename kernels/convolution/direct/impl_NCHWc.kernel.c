/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_NCHWc.x86: direct convolution by blocks of channels; all of it is the shared register
 * tile.
 */
#include "kernels/convolution/direct/impl_direct.kernel.c"
