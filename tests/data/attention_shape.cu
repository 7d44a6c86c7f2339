/* SPDX-License-Identifier: Apache-2.0 */
/* One warp of attention_mma.cuda. */
#define DTYPE float
#define IN_T unsigned short
#define IN_OF float_of_bfloat
#define OUT_TO bfloat_of_float
#define NARROW 1
#define HEADS 1
#define HKV 1
#define GROUP 1
#define ROWS 16
#define SQ 16
#define SKV 32
#define D 16
#define DV 16
#define CAUSAL 0
#define ZEROS 1
#define WARPS 1
#define MT 1
#define TK 16
#define STAGES 2
#define HOLD 0
#define MMA mma_bf16
#define PAIR bfloats_of_floats
#define POOL (16 * 128 + 2 * 2 * 16 * 128)
