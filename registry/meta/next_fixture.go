//go:build skl_next_schema

package meta

// next are steps as versions that are to come might have them, for tests of upgrades.
var next = []step{
	{sql: `ALTER TABLE releases ADD COLUMN successor TEXT NOT NULL DEFAULT ''`, from: 10},
	{sql: `ALTER TABLE releases DROP COLUMN successor`, from: 11, late: true},
}
