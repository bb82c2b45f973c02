package mcpserver

// propertyFilter has the parameters that select nodes by their properties.
type propertyFilter struct {
	Properties     map[string]any    `json:"properties,omitempty" jsonschema:"values of properties, or lists of values"`
	PropertyMin    map[string]any    `json:"propertyMin,omitempty" jsonschema:"inclusive lower bounds of properties"`
	PropertyMax    map[string]any    `json:"propertyMax,omitempty" jsonschema:"inclusive upper bounds of properties"`
	PropertyPrefix map[string]string `json:"propertyPrefix,omitempty" jsonschema:"beginnings of properties"`
}

func (f *propertyFilter) addProperties(body map[string]any) {
	for name, conditions := range map[string]map[string]any{
		"properties": f.Properties, "propertyMin": f.PropertyMin, "propertyMax": f.PropertyMax,
	} {
		if len(conditions) > 0 {
			body[name] = conditions
		}
	}
	if len(f.PropertyPrefix) > 0 {
		body["propertyPrefix"] = f.PropertyPrefix
	}
}
