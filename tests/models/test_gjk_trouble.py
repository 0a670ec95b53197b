"""Pairs that made other collision libraries fail, as their public issues give them: sizes and poses in metres."""

import numpy as np
import numpy.typing as npt
import pytest
from scipy.spatial.transform import Rotation
from simloop.models import gjk

from tests.models.bodies import AXES, CUBE, Array, at, box, prism, random_rotation
from tests.models.posed import check_certificate, qhull_depth

QUARTER = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
# The plank of FCL 319 and 390: edges 0.025, 0.35, 1.845, a quarter turn about z.
PLANK = box(0.0125, 0.175, 0.9225)
PLANK_POSE = QUARTER, (0.8, -0.4575, 1.0225)


def posed(a: Array, pose_a: gjk.Pose, b: Array, pose_b: gjk.Pose) -> gjk.PairQuery:
    query = gjk.PairQuery(a, b)
    query.rotation_a[:], query.translation_a[:] = pose_a
    query.rotation_b[:], query.translation_b[:] = pose_b
    query.update()
    check_certificate(query)
    return query


def turned(wxyz: npt.ArrayLike) -> Array:
    return Rotation.from_quat(np.roll(wxyz, -1)).as_matrix()


def cylinder(radius: float, length: float) -> Array:
    """A prism of 96 sides, with corners at every 3.75 degrees."""
    return prism(96) * np.array([10.0 * radius, 10.0 * radius, 5.0 * length])


def test_fcl_293_a_simplex_flat_to_a_segment_gave_nan_witnesses() -> None:
    query = posed(
        *(box(1.375, 3.0, 0.025), at(1.625, 0.0, 0.5)),
        *(
            box(0.212, 0.075, 0.0843),
            (turned([0.672811, 0.340674, 0.155066, 0.638138]), (0.192074, -0.27787, 0.273546)),
        ),
    )
    assert query.distance == pytest.approx(0.053516162824549, abs=1e-12)
    np.testing.assert_allclose(query.point_a - query.translation_a, [-1.375, -0.0988815027009, -0.025], atol=1e-6)


def test_fcl_319_a_cylinder_before_a_plank_expanded_a_polytope_that_should_not() -> None:
    """The plank's face is at 0.8 - 0.39 / 2, the cylinder's side at 0.4 + 0.18."""
    query = posed(
        *(box(0.025, 0.195, 0.735), (turned([0.707107, 0, 0, 0.707107]), (0.8, -0.385, 0.735))),
        *(cylinder(0.18, 0.18), (turned([0.991445, 0, 0, -0.130526]), (0.4, -0.4, 0.93))),
    )
    assert query.distance == pytest.approx(0.605 - 0.58, abs=1e-9)
    np.testing.assert_allclose(query.normal, [-1.0, 0.0, 0.0], atol=1e-9)


def test_fcl_319_a_cylinder_that_touches_a_plank_side_by_side() -> None:
    """Its side is 0.05 from its axis, which leans 6.3e-6 along the plank's face at x = 0.625 up to y = -0.445."""
    tilt = np.array(
        [
            [-0.99999999997999022838, 6.2572835802045040178e-10, 6.3260669852976095481e-06],
            [6.3260669851683709551e-06, -6.3943303429958554955e-10, 0.99999999997999056145],
            [6.2573180158128459924e-10, 1, 6.3942912945996747041e-10],
        ]
    )
    start = (0.57500009756757608503, -0.42711963046787942977, 1.1867093358746836351)
    query = posed(cylinder(0.05, 0.06), (tilt, start), PLANK, PLANK_POSE)
    assert query.distance == pytest.approx(0.625 - start[0] - 0.05 + 6.32606698e-06 * (0.445 + start[1]), abs=1e-11)


def test_fcl_390_a_box_before_a_plank_was_sent_to_epa_while_apart() -> None:
    """Along y the box ends 1.7e-8 before the plank: 0.015 and the leaning of its other edges."""
    lean = np.array(
        [
            [-3.0627937852578681533e-08, -0.99999999999999888978, -2.8893865161583314238e-08],
            [0.9999999999999980016, -3.0627939739957803544e-08, 6.4729926918527511769e-08],
            [-6.4729927722963847085e-08, -2.8893863029448751323e-08, 0.99999999999999711342],
        ]
    )
    start = (0.63499979627350811029, -0.48500002215636439651, 1.0778146458339641356)
    query = posed(box(0.015, 0.06, 0.05), (lean, start), PLANK, PLANK_POSE)
    reach = 0.015 + 0.06 * 3.0627939739957803544e-08 + 0.05 * 6.4729926918527511769e-08
    assert query.distance == pytest.approx(-0.47 - start[1] - reach, abs=1e-14)
    assert query.distance > 1.7e-8
    assert not query.intersects()


def test_fcl_390_a_cylinder_through_a_plank() -> None:
    lean = np.array(
        [
            [-0.97313010759279283679, -0.12202804064972551379, 0.19526123781136842106],
            [0.20950801135757171623, -0.11745920593569325607, 0.97072639199619581429],
            [-0.095520609678929752073, 0.98555187191549953329, 0.13986894183635001365],
        ]
    )
    start = (0.87472781461138560122, -0.4038687881347159947, 1.5871328698116491385)
    query = posed(cylinder(0.05, 0.06), (lean, start), PLANK, PLANK_POSE)
    assert (query.a.vertices @ lean.T + np.array(start))[:, 1].min() + 0.445 == pytest.approx(query.distance, abs=1e-12)


def test_fcl_395_a_tray_and_a_tool_led_to_a_triangle_of_no_area() -> None:
    turn = np.array(
        [
            [0.10758262492983036718, -0.6624881850015212903, -0.74130653817877356637],
            [0.22682184885125472595, -0.709614040775253474, 0.6670830248314786326],
            [-0.96797615037608542021, -0.23991106241273435495, 0.07392465377049164954],
        ]
    )
    query = posed(
        *(box(0.23, 0.24, 0.005), at(-0.721, -0.772, 0.81)),
        *(box(0.0247605, 0.073, 0.03625), (turn, (-0.42677133002999478872, -0.76596851247746788882, 0.80746731400091))),
    )
    assert -query.distance == pytest.approx(qhull_depth(query), abs=1e-13)


@pytest.mark.parametrize(("thickness", "depth"), [(0.037, 0.0), (0.37, 0.1665)])
def test_fcl_398_a_tray_on_a_counter_was_sent_to_epa_while_touching(thickness: float, depth: float) -> None:
    """The issue's counter is 0.037 thick and ends at the tray's 0.93; FCL's own test has one ten times as thick."""
    query = posed(
        *(box(0.307, 1.5, thickness / 2), at(-0.675, 0.0, 0.9115)),
        *(box(0.247, 0.276, 0.005), at(-0.692, 0.0, 0.935)),
    )
    assert query.distance == pytest.approx(-depth, abs=1e-15)
    np.testing.assert_allclose(query.normal, AXES[2], atol=1e-12)


STACK_493 = np.array(
    [
        [0.96193976625564348026, 0.15401279915737359216, 0.22572537250328919556],
        [-0.19134171618254486313, 0.96936494951283913579, 0.15401279915737359216],
        [-0.19509032201612822033, -0.19134171618254486313, 0.96193976625564348026],
    ]
)
STACK_495 = np.array(
    [
        [0.94096063217417758029, 0.29296840037289501035, 0.16959541586174811667],
        [-0.23569836841299879326, 0.92661523595848427348, -0.29296840037289506586],
        [-0.2429801799032638987, 0.23569836841299884878, 0.94096063217417758029],
    ]
)


@pytest.mark.parametrize(
    ("size", "turn", "first", "second"),
    [
        (0.5, STACK_493, (2.0770063995786869349, 0.48468247475641951239, 1.1543291419087275962), (2.0, 0.0, 1.25)),
        (0.25, STACK_495, (0.073242100093223821977, 0.2316538089896212349, 1.3089245921032497399), (0.0, 0.0, 1.25)),
    ],
)
def test_fcl_493_tilted_boxes_that_kiss_are_neither_apart_nor_inside(
    size: float, turn: Array, first: gjk.Pose, second: gjk.Pose
) -> None:
    cube = size * CUBE
    query = posed(cube, (turn, first), cube, (turn, second))
    assert abs(query.distance) < 1e-15
    np.testing.assert_allclose(query.normal, -turn[:, 1], atol=1e-9)


@pytest.mark.parametrize("size", [0.01, 0.25, 0.5, 10.0, 1000.0])
def test_fcl_493_a_tilted_stack_of_any_size_keeps_a_gap_of_rounding(size: float) -> None:
    for gap in (-1e-12, -1e-15, -2.5e-16, 0.0, 1e-16, 1e-15, 1e-12):
        start = np.array([0.0, 0.0, 5.0 * size])
        along = STACK_495 @ np.array([0.0, size + gap * max(1.0, size), 0.0])
        query = posed(size * CUBE, (STACK_495, start), size * CUBE, (STACK_495, start + along))
        assert query.distance == pytest.approx(gap * max(1.0, size), abs=2e-15 * size)


@pytest.mark.parametrize("swap", [False, True])
def test_libccd_25_stacked_cubes_gave_a_direction_that_is_no_number(swap: bool) -> None:
    poses = [at(0, 0, 0), at(0, 0, 1.9)]
    query = posed(2.0 * CUBE, poses[swap], 2.0 * CUBE, poses[not swap])
    assert query.distance == pytest.approx(-0.1, abs=1e-15)
    np.testing.assert_allclose(query.normal, [0, 0, -1 if swap else 1], atol=1e-12)
    np.testing.assert_allclose(query.point_a[2] - query.point_b[2], -0.1 if swap else 0.1, atol=1e-15)


def test_opengjk_3_polygons_that_cross_in_one_plane_were_half_a_metre_apart() -> None:
    a = np.array(
        [[0.795121, -0.727851, 0], [-0.178424, -0.989183, 0], [-0.412644, -0.770664, 0], [0.566564, 0.548772, 0]]
    )
    b = np.array([[-0.211223, -0.511346, 0], [-0.347973, 0.45872, 0], [0.277308, 0.969689, 0]])
    query = posed(a, at(0, 0, 0), b, at(0, 0, 0))
    assert query.distance == pytest.approx(0.0, abs=1e-15)
    assert query.intersects()
    lifted = posed(a, at(0, 0, 0), b, at(0, 0, 0.25))
    assert lifted.distance == pytest.approx(0.25, abs=1e-15)


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9, 1e-11, 0.0])
def test_faces_that_are_parallel_and_close_end_in_a_few_steps(gap: float) -> None:
    """Flexible-GJK-and-EPA 8 looped for ever on such; it gives no numbers."""
    rng = np.random.default_rng(8)
    for _ in range(40):
        A, B = prism(int(rng.integers(3, 40))), box(*rng.uniform(0.02, 0.3, 3))
        R = random_rotation(rng)
        lift = R @ np.array([*rng.uniform(-0.05, 0.05, 2), 0.1 + B[:, 2].max() + gap])
        query = posed(A, (R, np.zeros(3)), B, (R, lift))
        assert query.distance == pytest.approx(gap, abs=1e-15)
        assert query.iterations <= 64
