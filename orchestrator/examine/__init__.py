"""What ``./hermit doctor`` looks at, a module a part. Each check gives findings; none of them mends anything."""
