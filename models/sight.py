"""Whether a camera on the arm sees a point, or which geoms stand in between (S2, section 5)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from simloop.models.arm import Arm
from simloop.models.clearance import solid, solid_geoms
from simloop.models.gjk import Hull, intersects

# A target may lie on a surface and is then seen from outside it: the line of sight ends this far before it, m.
# Larger than the rounding of a mesh (single precision, 1e-7 of a metre), smaller than anything that hides a target.
SHORT_OF_TARGET = 1e-6


class Sight:
    """The line of sight of a camera, a site of the arm.

    The line is a polytope as thin as one can be, a segment, tested against every geom that takes part in contact but
    those of the camera's own body. Touching is blocking.
    """

    def __init__(self, arm: Arm, camera: str) -> None:
        self._arm = arm
        model = arm.model
        site = model.site(camera)
        self._site = int(site.id)
        in_the_way = [geom for geom in solid_geoms(model) if model.geom_bodyid[geom] != site.bodyid[0]]
        self._solids = [(geom, *solid(model, geom)) for geom in in_the_way]

    def blocked_by(self, target: npt.ArrayLike) -> tuple[str, ...]:
        """Names of the geoms between the camera and a point of the world frame, m, in the order of the model; none
        means that the view is clear. The arm stands as `arm.kinematics` last placed it."""
        lens = self._arm.data.site_xpos[self._site]
        ray = np.asarray(target, dtype=np.float64) - lens
        length = float(np.linalg.norm(ray))
        if length <= SHORT_OF_TARGET:
            return ()
        # Relative to the lens, where the numbers are smallest.
        line = Hull([np.zeros(3), ray * (1.0 - SHORT_OF_TARGET / length)])
        data = self._arm.data
        return tuple(
            name
            for geom, name, hull in self._solids
            if intersects(hull, line, (data.geom_xmat[geom].reshape(3, 3), data.geom_xpos[geom] - lens))
        )
