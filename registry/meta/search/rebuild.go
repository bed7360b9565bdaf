package search

import (
	"context"
	"encoding/json"

	"github.com/skl-project/skl/registry/meta"
)

// Rebuild makes all of the index anew, from what skills and their latest releases say.
func Rebuild(ctx context.Context, q meta.Querier, db Database) error {
	for _, table := range Tables() {
		if _, err := q.ExecContext(ctx, `DELETE FROM `+table); err != nil {
			return err
		}
	}
	d := newDifference()
	for last := int64(0); ; {
		const page = 200 // a connection answers one question at a time, so entries are written when the rows are read
		all, err := skills(ctx, q, last, page)
		if err != nil {
			return err
		}
		for _, k := range all {
			if k.id/blockSkills != last/blockSkills {
				if err := d.write(ctx, q, db); err != nil {
					return err
				}
				d = newDifference()
			}
			last = k.id
			e, err := read(ctx, q, k.Document)
			if err != nil {
				return err
			}
			if _, err := q.ExecContext(ctx, `INSERT INTO search_skills (id, entry) VALUES ($1, $2)`, k.id, e.encode()); err != nil {
				return err
			}
			d.add(k.id, entry{}, e)
		}
		if len(all) < page {
			break
		}
	}
	if err := d.write(ctx, q, db); err != nil {
		return err
	}
	return settle(ctx, q)
}

// A skill is one with its id.
type skill struct {
	id int64
	meta.Document
}

// skills returns those behind an id, in the order of ids.
func skills(ctx context.Context, q meta.Querier, last int64, limit int) (all []skill, err error) {
	rows, err := q.QueryContext(ctx, `SELECT s.id, s.name, s.keywords, s.namespace, s.description, s.license, s.signed, coalesce(r.body, '') FROM skills AS s
		LEFT JOIN releases AS r ON r.namespace = s.namespace AND r.name = s.name AND r.version = s.latest
		WHERE s.id > $1 ORDER BY s.id LIMIT $2`, last, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var k skill
		var keywords string
		var signed int
		if err := rows.Scan(&k.id, &k.Name, &keywords, &k.Namespace, &k.Description, &k.License, &signed, &k.Text); err != nil {
			return nil, err
		}
		if keywords != "" {
			if err := json.Unmarshal([]byte(keywords), &k.Keywords); err != nil {
				return nil, err
			}
		}
		k.Signed = signed != 0
		all = append(all, k)
	}
	return all, rows.Err()
}
