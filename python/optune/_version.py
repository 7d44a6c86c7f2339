# SPDX-License-Identifier: Apache-2.0
"""The version of the package; the library must have the same first two numbers."""

__version__ = "0.1.0"
