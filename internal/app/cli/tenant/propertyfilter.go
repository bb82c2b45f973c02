package tenant

import "github.com/go-json-experiment/json/jsontext"

// propertyFilter has the flags that select nodes by their properties.
type propertyFilter struct {
	Property       map[string]string `help:"Only nodes whose property KEY is VALUE, a JSON value or else a text; repeat it for several properties." placeholder:"KEY=VALUE" mapsep:"none"`
	PropertyMin    map[string]string `help:"Only nodes whose property KEY is at least VALUE." placeholder:"KEY=VALUE" mapsep:"none"`
	PropertyMax    map[string]string `help:"Only nodes whose property KEY is at most VALUE." placeholder:"KEY=VALUE" mapsep:"none"`
	PropertyPrefix map[string]string `help:"Only nodes whose property KEY begins with TEXT." placeholder:"KEY=TEXT" mapsep:"none"`
}

// addProperties adds the fields of a body that select nodes by their properties.
func (f *propertyFilter) addProperties(body map[string]any) {
	for name, conditions := range map[string]map[string]string{
		"properties": f.Property, "propertyMin": f.PropertyMin, "propertyMax": f.PropertyMax,
	} {
		if len(conditions) == 0 {
			continue
		}
		values := make(map[string]any, len(conditions))
		for key, text := range conditions {
			values[key] = propertyValue(text)
		}
		body[name] = values
	}
	if len(f.PropertyPrefix) > 0 {
		body["propertyPrefix"] = f.PropertyPrefix
	}
}

// propertyValue returns a text as the JSON value that it is, or else as a string.
func propertyValue(text string) any {
	if value := jsontext.Value(text); value.IsValid() {
		return value
	}
	return text
}
