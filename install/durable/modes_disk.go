//go:build unix && !nomodes

package durable

// HasModes says that files have an execute bit on the disks of this system. Programs built with the tag nomodes
// do without it, so that tests on any system show what happens on the others.
const HasModes = true
