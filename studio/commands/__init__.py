"""The commands of `simloop`, by what they are about. None loads anything heavy before it is called."""
