// Package runtime has no code: the area's packages are below it, since the
// standard library owns the word.
//
//	plan     a skill, bound and checked: what a run will do, decided before it starts
//	run      the stack machine that walks a plan; journal, checkpoint, replay
//	model    fills the leaves: models, people, recorded answers
//	tool     what a leaf may call, and the dispatch that allows or denies it
//	sandbox  confinement of processes
//	trace    events of a run for people and programs
//	skills   the bundled skills
package runtime
