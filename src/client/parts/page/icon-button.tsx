// A button that shows a drawing and is named in words, for tooltips and for people who do not see it.
import type { ComponentProps } from "react";
import { Icon, type IconName } from "./icons.tsx";

export interface IconButtonProps extends Omit<ComponentProps<"button">, "children"> {
  icon: IconName;
  label: string;
  size?: number;
}

/**
 * A button that shows a drawing and is named in words.
 *
 * @example
 * <IconButton icon="trash" label="Delete this order" onClick={remove} />
 */
export function IconButton({ icon, label, size, className = "", ...rest }: IconButtonProps) {
  return (
    <button type="button" className={`think-icon-button ${className}`} aria-label={label} title={label} {...rest}>
      <Icon name={icon} {...(size !== undefined && { size })} />
    </button>
  );
}
