"""The rules: constructs that raise, silently differ, retrace or slow down under tracing. One file per rule.

A hazard is found once. In an eager function the hit blocks the conversion; in a hybrid one the same hit is a finding.
"""
