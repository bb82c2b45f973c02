package embedded

// AsOtherUser returns options to run Postgres as another user, as on a machine without user
// namespaces.
func (o PostgresOptions) AsOtherUser() PostgresOptions {
	o.identity = identityOtherUser
	return o
}

// AsNamespace returns options to run Postgres in a user namespace.
func (o PostgresOptions) AsNamespace() PostgresOptions {
	o.identity = identityNamespace
	return o
}
