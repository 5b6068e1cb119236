"""What Conan 2's package does, as far as the recipe uses it and its manual says."""


class CppInfo:
    def __init__(self):
        self.libs, self.system_libs, self.exelinkflags, self.sharedlinkflags = [], [], [], []
        self.properties = {}

    def set_property(self, name, value):
        self.properties[name] = value


class Values:
    """Settings or options, as attributes."""

    def __init__(self, values):
        self.__dict__.update(values)


class ConanFile:
    def __init__(self, recipe_folder, settings, options):
        self.recipe_folder = recipe_folder
        self.settings = Values({name: settings[name] for name in self.settings})
        for name, value in options.items():
            assert value in self.options[name], (name, value)
        chosen = {**getattr(self, "default_options", {}), **options}
        self.options = Values(chosen)
        self.required = []
        self.cpp_info = CppInfo()

    def requires(self, reference):
        name, _, version = reference.partition("/")
        assert name and version, reference
        self.required.append(reference)
