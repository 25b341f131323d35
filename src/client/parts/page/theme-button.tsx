// Goes from light to dark and back, and remembers it.
import { IconButton } from "./icon-button.tsx";
import { chooseTheme, useTheme } from "./theme.ts";

/**
 * Goes from light to dark and back, for this browser.
 *
 * @example
 * <ThemeButton />
 */
export function ThemeButton() {
  const theme = useTheme();
  const other = theme === "dark" ? "light" : "dark";
  return (
    <IconButton
      icon={theme === "dark" ? "sun" : "moon"}
      label={`Switch to ${other} theme`}
      onClick={() => chooseTheme(other)}
    />
  );
}
