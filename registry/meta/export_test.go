package meta

import "context"

// MigrateSteps is Migrate with other steps.
func MigrateSteps(ctx context.Context, q Querier, d Dialect, upgrading func(Schema) error, steps []step) error {
	return migrate(ctx, q, d, 0, upgrading, steps)
}

// SchemaOf is Schema for a program that knows those steps.
func SchemaOf(ctx context.Context, q Querier, d Dialect, steps []step) (Schema, error) {
	return NewTx(q, d).schema(ctx, steps)
}

// Steps are those of this program, and more.
func Steps(more ...step) []step { return append(steps(), more...) }

// NewStep makes one.
func NewStep(sql string, from int, late bool) step { return step{sql, from, late} }

var VersionKey = versionKey
