// Limits of the format that modules need which do not read YAML.

export const MAX_DESCRIPTION_CHARS = 1_024;
