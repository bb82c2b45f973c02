package embedded

// AsOtherUser makes Postgres run as another user, as on a machine that allows
// root no user namespaces.
func (o PostgresOptions) AsOtherUser() PostgresOptions {
	o.identity = identityOther
	return o
}

// AsNamespace makes Postgres run in a user namespace.
func (o PostgresOptions) AsNamespace() PostgresOptions {
	o.identity = identityNamespace
	return o
}
