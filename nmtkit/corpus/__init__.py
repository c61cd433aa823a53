"""Text: lines, pairs, normalizers, filters, segmenters. Imports no torch."""
