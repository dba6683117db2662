"""From YAML to a compiled table: text, document, schema, validation, compilation."""
