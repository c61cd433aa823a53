"""What recipes share: files found, fetched and checked; the WMT14 recipes from download to scores; table 3.

Needs only the standard library, so that it runs before nmtkit is installed; nmtkit itself is called by its commands.
Only `table3*`, which comes later, also asks nmtkit's settings what they mean.
"""
