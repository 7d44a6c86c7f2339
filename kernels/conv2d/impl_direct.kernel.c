/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d_direct.cpu: direct convolution on any layout; all of it is the shared register tile.
 */
#include "kernels/conv2d/tile.h"
