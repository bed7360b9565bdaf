#!/usr/bin/env python3
"""Prints the name, values, distinct values and missing values of each column of a CSV file."""
import csv
import sys

with open(sys.argv[1], newline="") as file:
    rows = list(csv.DictReader(file))
for name in rows[0] if rows else []:
    values = [row[name] for row in rows if row[name]]
    print(f"{name}: {len(values)} values, {len(set(values))} distinct, {len(rows) - len(values)} missing")
