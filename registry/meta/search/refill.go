package search

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/skl-project/skl/registry/meta"
)

// Refill gives a database the words of all skills anew, which it has none of.
func Refill(ctx context.Context, q meta.Querier, db Database) error {
	for last := int64(0); ; {
		const page = 200 // a connection answers one question at a time, so words are put when the rows are read
		all, err := skills(ctx, q, `skills AS s`, `s.id > $1 ORDER BY s.id LIMIT $2`, last, page)
		if err != nil {
			return err
		}
		for _, k := range all {
			if err := db.Put(ctx, q, k.id, k.Fields); err != nil {
				return err
			}
			last = k.id
		}
		if len(all) < page {
			return nil
		}
	}
}

// A skill has the words that its rows say, which are those that it was put with.
type skill struct {
	id int64
	Fields
}

// skills returns those of some tables, of which s is one, where something holds.
func skills(ctx context.Context, q meta.Querier, tables, where string, args ...any) (all []skill, err error) {
	rows, err := q.QueryContext(ctx, `SELECT s.id, s.name, s.keywords, s.namespace, s.description, coalesce(r.body, '') FROM `+tables+`
		LEFT JOIN releases AS r ON r.namespace = s.namespace AND r.name = s.name AND r.version = s.latest WHERE `+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var name, keywords, namespace, description, body string
		if err := rows.Scan(&id, &name, &keywords, &namespace, &description, &body); err != nil {
			return nil, err
		}
		var list []string
		if keywords != "" {
			if err := json.Unmarshal([]byte(keywords), &list); err != nil {
				return nil, err
			}
		}
		all = append(all, skill{id, fields(name, list, namespace, description, body)})
	}
	return all, rows.Err()
}

func fields(name string, keywords []string, namespace, description, body string) Fields {
	return Fields{Name: Words(name), Keywords: Words(strings.Join(keywords, " ")), Namespace: Words(namespace), Description: Words(description), Body: Words(body)}
}
