package load

import (
	"context"
	"fmt"
	"go/types"

	"golang.org/x/tools/go/packages"
)

// Types type-checks packages by import path. Those that do not exist are
// not in the map; those with errors are, with the types that could be made.
func Types(ctx context.Context, dir, tags string, paths []string) (map[string]*types.Package, error) {
	byPath := map[string]*types.Package{}
	if len(paths) == 0 {
		return byPath, nil
	}
	config := listConfig(ctx, dir, tags)
	config.Mode = packages.LoadAllSyntax
	pkgs, err := packages.Load(config, paths...)
	if err != nil {
		return nil, fmt.Errorf("load packages: %w", listError(err))
	}
	for _, p := range pkgs {
		if p.Types != nil && len(p.CompiledGoFiles) > 0 {
			byPath[p.PkgPath] = p.Types
		}
	}
	return byPath, nil
}
