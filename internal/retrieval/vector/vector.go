// Package vector names what vectors are of, for those who keep vectors and make none.
package vector

import "fmt"

// Model names what vectors are of.
type Model struct {
	Name       string `json:"name"`
	Dimensions int    `json:"dimensions"`
}

// String is the model for logs.
func (m Model) String() string { return fmt.Sprintf("%s (%d dimensions)", m.Name, m.Dimensions) }
