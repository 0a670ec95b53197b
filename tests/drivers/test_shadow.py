"""The simulated plant beside the real one: what it makes of a heavier arm, and of a hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from simloop.drivers.shadow import Shadow
from simloop.fmus.controller import holding_force
from simloop.models.robots.iiwa import ROBOT
from simloop.studio.request import Finished

from tests.drivers.bench import HOME, MODEL, H, emulated_drives, run_against, seconds

# Two counts of 2^24 a turn between three measurements are this acceleration, rad/s²; times the inertia a force, N·m.
ENCODER = 2 * 2 * np.pi / 2**24 / H**2
WITHIN_20_MS = 5  # cycles


def shadowed(tmp_path: Path, cycles: int, *troubles: str, threshold: float = 0.0, mass_error: float = 0.0) -> Finished:
    with emulated_drives(troubles, mass_error) as (_, channel):
        settings = {"channel": channel, "watchdog": 30.0, "shadow": True, "residual_threshold": threshold}
        return run_against("canopen", tmp_path, seconds(cycles), control__force_threshold=0.0, **settings)


def test_a_step_of_the_model_itself_leaves_nothing() -> None:
    state = MODEL.state_at(HOME, 0.1)
    before = state.q.copy(), state.v.copy()
    tau = holding_force(MODEL, HOME) + 2.0
    MODEL.step(state, tau, H)
    shadow = Shadow(ROBOT.mjcf)
    shadow.compare(*before, tau, state.q, state.v, H)
    np.testing.assert_allclose(shadow.residual, 0.0, atol=1e-15)
    np.testing.assert_allclose(shadow.force, 0.0, atol=1e-9)


def test_five_per_cent_more_mass_shows_as_five_per_cent_of_the_weight(tmp_path: Path) -> None:
    """Law: at rest the motors carry 1.05 g(q) where the model says g(q); the force beside the command is -0.05 g(q)."""
    finished = shadowed(tmp_path, 20, mass_error=0.05)
    assert finished.status == "complete", finished.error
    result = finished.outcome.result
    force, q = result.vector("plant.residual_force"), result.vector("plant.q")
    weight = holding_force(MODEL, q[-1])
    MODEL.kinematics(HOME)
    noise = ENCODER * np.abs(MODEL.inertia()).sum(axis=1)
    # The arm moves slowly still: its inertia adds little, which the tenth is for.
    assert np.all(np.abs(np.mean(force[10:], axis=0) + 0.05 * weight) < noise + 0.1 * 0.05 * np.abs(weight).max())
    assert np.abs(force[-1]).max() > 1.0
    # The simulated arm is where the lighter one would be.
    assert np.abs(result.vector("plant.residual")[-1]).max() > 1e-6


def test_a_pushed_joint_is_contact_within_20_ms(tmp_path: Path) -> None:
    finished = shadowed(tmp_path, 100, "push@40:4x60=15", threshold=6.0, mass_error=0.05)
    assert finished.status == "failed"
    assert "contact, by the shadow" in str(finished.error)
    assert "joint 4" in str(finished.error)
    stopped = len(finished.outcome.result)
    assert 40 < stopped <= 40 + WITHIN_20_MS
    push = (
        finished.outcome.result.vector("plant.residual_force")[40]
        - finished.outcome.result.vector("plant.residual_force")[39]
    )
    assert abs(push[3] - 15.0) < 1.5
