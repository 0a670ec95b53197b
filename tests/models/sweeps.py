"""What must hold wherever two joints in a row stand."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from simloop.models.arm import Arm
from simloop.models.clearance import Clearance


def assert_apart(arm: Arm, clearance: Clearance, pairs: set[int], joints: Iterable[int]) -> None:
    """The bodies of these pairs stay 2 cm apart, whatever each of the joints and the next one do."""
    for joint in joints:
        spans = [np.linspace(*arm.model.jnt_range[k], 25) for k in (joint, joint + 1)]
        for first in spans[0]:
            for second in spans[1]:
                q = np.zeros(arm.n)
                q[joint : joint + 2] = first, second
                touching, _ = clearance.near(q, 0.02)
                assert not pairs & set(touching.tolist()), [clearance.names[k] for k in touching]
