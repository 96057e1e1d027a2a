# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Stock schedulers: their settings take in a guest, and scenarios set them beside fgio."""

from pathlib import Path

import pytest

from lab import configurations, paths, rivals
from lab.experiments import scenarios
from lab.experiments.base import rival_settings, settings
from lab.experiments.scenarios import FGIO, Scenario, ScenarioRow, Scenarios

GUEST = paths.LAB / "guest"
SET_ALL = """
. $PAYLOAD/functions.sh
make_disk volume 1 256
while IFS='|' read -r name elevator tunables queue; do
  use_elevator none
  use_elevator "$elevator"
  set_tunables "$tunables"
  set_queue "$queue"
  echo "$name"
done <$PAYLOAD/list
"""
# Rounded down, not there, and of another elevator.
REFUSED = (
    ("kyber", "set_tunables read_lat_nsec=x"),
    ("bfq", "set_tunables no_such_file=1"),
    ("mq-deadline", "set_tunables slice_idle=0"),
    ("mq-deadline", "set_queue nr_requests=3"),
)
ROUNDED = """
. $PAYLOAD/functions.sh
make_disk volume 1 256
use_elevator mq-deadline
for each in {attempts}; do
  (use_elevator "${{each%%:*}}"; ${{each#*:}}) >/dev/null 2>&1
  echo $?
done
"""
STOPPED = 3


def test_settings_of_stock_schedulers_take_in_a_guest(guest):
    names = [name for name in configurations.STOCK if name in configurations.BY_NAME]
    lines = []
    for name in names:
        chosen = configurations.BY_NAME[name]
        found = rival_settings(chosen, "volume")
        lines.append(f"{name}|{chosen.elevator}|{found['TUNABLES']}|{found['QUEUE']}\n")
    payload = {"functions.sh": GUEST / "functions.sh", "list": "".join(lines)}
    assert guest(SET_ALL, payload=payload).output.split() == names


def test_a_setting_that_does_not_take_ends_the_run(guest):
    attempts = " ".join(f"'{elevator}:{command}'" for elevator, command in REFUSED)
    payload = {"functions.sh": GUEST / "functions.sh"}
    outcome = guest(ROUNDED.format(attempts=attempts), payload=payload)
    assert outcome.output.split() == [str(STOPPED)] * len(REFUSED)


WEIGH = """
. $PAYLOAD/functions.sh
. $PAYLOAD/rivals.sh
. $PAYLOAD/weights.env
make_disk volume 1 256
use_elevator "$ELEVATOR"
use_weights
sort=$!
(enter_background; cat /proc/self/cgroup)
cat /proc/self/cgroup
cat $CGROUPS/{foreground,background}/$WEIGHT_FILE
kill $sort
"""


@pytest.mark.parametrize(
    ("name", "weights"),
    [("bfq-weights", ["1000", "1"]), ("io-cost", ["10000", "10"])],
)
def test_cgroups_get_their_weights_in_a_guest(guest, name, weights):
    chosen = configurations.BY_NAME[name]
    values = {"ELEVATOR": chosen.elevator, **rival_settings(chosen, "volume")}
    payload = {one: GUEST / one for one in ("functions.sh", "rivals.sh")}
    payload |= {"weights.env": settings(values), "titles": rivals.titles("redis")}
    said = guest(WEIGH, payload=payload).output.splitlines()
    assert said[:2] == ["0::/background", "0::/foreground"]
    assert said[2:] == [f"default {weight}" for weight in weights]


LOCK = Scenario("a-lock", "file", "locks,io", "a lock that is held")
PAGE = Scenario("a-page", "file", "io", "a page that is read")


def row(config: str, scenario: Scenario, waits: dict, failures: dict) -> ScenarioRow:
    """One scenario under one configuration."""
    found = {"scenario": scenario, "service_ms": 0.61, "waits": waits, "failures": failures}
    return ScenarioRow(config, 1, {}, {}, **found)


def rows() -> list[ScenarioRow]:
    """Two scenarios under mq-deadline and fgio; one of them did not end under the former."""
    stock = {"floor": [0.6], "stock": [170.0, 181.0, 190.0]}
    fgio = {"floor": [0.5, 0.6, 0.7], "off": [77.0], "on": [0.9]}
    failed = {"stock": "status 142"}
    return [
        row("mq-deadline", LOCK, stock, {}),
        row("mq-deadline", PAGE, {"floor": [0.6]}, failed),
        row(FGIO, LOCK, fgio, {}),
        row(FGIO, PAGE, fgio, {}),
    ]


def test_a_scenario_has_a_line_with_stock_and_fgio_side_by_side():
    content = {"kernel_release": "6.12", "device": "volume", "command": "lab/run scenarios"}
    text = Scenarios().markdown(content | {"commit": "abc", "dirty": False}, rows())
    heading = "| scenario | what is waited for | mq-deadline | off | on | floor | service |  |"
    assert heading in text
    assert "| a-lock | a lock that is held | 181.00 | 77.00 | 0.90 | 0.60 | 0.61 |  |" in text
    assert "| a-page | a page that is read | - | 77.00 | 0.90 | 0.60 | 0.61 |  |" in text
    assert "commit abc" in text


def test_rows_of_stock_schedulers_have_no_switches():
    stock, _, fgio, _ = (row.as_json() for row in rows())
    assert stock["stock_ms"] == 181.0 and "off_ms" not in stock and not stock["switches_off"]
    assert fgio["off_ms"] == 77.0 and "stock_ms" not in fgio
    assert fgio["switches_off"] == ["locks", "io"]


@pytest.mark.parametrize("name", scenarios.STOCK)
def test_stock_schedulers_run_without_the_module(name, tmp_path, monkeypatch):
    monkeypatch.setattr(scenarios, "need_modules", lambda *_: None)
    monkeypatch.setattr(scenarios, "program", lambda: tmp_path)
    monkeypatch.setattr(scenarios, "test_module", lambda _: tmp_path)
    monkeypatch.setattr(scenarios, "payload", lambda *_: {"modules/fgio.ko": Path("fgio.ko")})
    chosen = configurations.BY_NAME[name]
    boot = Scenarios().boot(None, chosen, 1, "file")
    assert "modules/fgio.ko" not in boot.payload
    assert f"ELEVATOR={chosen.elevator}\n" in boot.payload["scenarios.env"]
    boot = Scenarios().boot(None, configurations.BY_NAME[FGIO], 1, "file")
    assert "modules/fgio.ko" in boot.payload
