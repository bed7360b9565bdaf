//go:build !skl_next_schema

package meta

// next are steps of a version that is to come.
var next []step
