# SPDX-License-Identifier: Apache-2.0
"""Operators with random attributes: f(r, x) gives values. The order of the rooms is that of the
table, and so belongs to what a seed draws."""

import operators.pointwise
import operators.reductions
import operators.moves
import operators.products
import operators.windows
import operators.norms
import operators.resize
import operators.quantised
import operators.recurrent
import operators.sample
import operators.other
import operators.contrib

from operators.table import OPS
