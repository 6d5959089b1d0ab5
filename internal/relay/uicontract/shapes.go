package uicontract

import "reflect"

// Shape is one row of the contract: a name with the types that it carries.
type Shape struct {
	Name           string
	Params, Result reflect.Type // Result is nil for events
}

// Commands lists every command; Events every event.
func Commands() []Shape {
	var shapes []Shape
	for _, e := range commandTable {
		shapes = append(shapes, Shape{string(e.kind), e.params, e.result})
	}
	return shapes
}

// Events lists every event with its body as Params.
func Events() []Shape {
	var shapes []Shape
	for _, e := range eventTable {
		shapes = append(shapes, Shape{Name: string(e.kind), Params: e.body})
	}
	return shapes
}
