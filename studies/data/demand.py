#!/usr/bin/env python3
"""Writes demand.csv next to it, the data set of studies/series.yaml: an invented demand for electricity and the
temperature outside, hour by hour for 150 days. Nothing was measured: the demand follows from the hour, the weekday and
the temperature of the last hours by the formula below, with noise that lasts for some hours."""
import datetime
import math
import pathlib
import random

draw = random.Random(60)
weather, noise, felt = 0.0, 0.0, 6.0
with open(pathlib.Path(__file__).with_suffix(".csv"), "w", encoding="utf-8") as file:
    file.write("hour,demand,temperature,weekend\n")
    for i in range(24 * 150):
        when = datetime.datetime(2025, 1, 1) + datetime.timedelta(hours=i)
        weekend = when.weekday() >= 5
        weather = 0.98 * weather + draw.gauss(0, 0.6)
        day = math.cos((when.hour - 15) / 24 * 2 * math.pi)
        temperature = 5 + 9 * math.sin(i / 24 / 365 * 2 * math.pi - 1.2) + 3.5 * day + weather
        felt = 0.9 * felt + 0.1 * temperature  # houses cool down slowly
        noise = 0.8 * noise + draw.gauss(0, 6)
        morning = math.exp(-((when.hour - 8) / 2.5) ** 2)
        evening = math.exp(-((when.hour - 19) / 3) ** 2)
        demand = 420 + (60 if weekend else 130) * morning + 120 * evening - (55 if weekend else 0)
        demand += 9 * max(0.0, 16 - felt) + noise
        shown = "" if draw.random() < 0.005 else f"{temperature:.1f}"
        file.write(f"{when:%Y-%m-%dT%H:00},{demand:.1f},{shown},{int(weekend)}\n")
