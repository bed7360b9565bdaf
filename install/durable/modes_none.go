//go:build !unix || nomodes

package durable

// HasModes says that files have no execute bit on the disks of this system: it is kept beside the files.
const HasModes = false
