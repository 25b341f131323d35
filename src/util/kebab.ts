/**
 * Class and binding names as they appear in URLs. Published clients use the same rule, so it must not be "improved":
 * acronyms are not special (`AIAssistant` is `a-i-assistant`).
 */
export function kebabCase(name: string): string {
  if (name === name.toUpperCase() && name !== name.toLowerCase()) return name.toLowerCase().replaceAll("_", "-");
  return name
    .replace(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`)
    .replace(/^-/, "")
    .replaceAll("_", "-")
    .replace(/-$/, "");
}
