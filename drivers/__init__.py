"""Real robots behind one small protocol, emulators of their makers' interfaces, and what keeps them safe."""
