package atomicfile

// Windows has no FIFOs with a place among files, and only a privileged user makes links.
const noWait, noFollow = 0, 0
