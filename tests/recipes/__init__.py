"""Tests of what recipes share, and of the WMT14 recipes against mirrors with small files of the real names."""
